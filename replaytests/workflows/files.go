package workflows

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Recording is the release whose histories are being recorded: the one that comes
// next. Those of earlier releases are never recorded again.
const Recording = "v0.1.0"

// Versions returns the releases that the folder of histories has, the oldest first.
func Versions(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, entry := range entries {
		if _, err := number(entry.Name()); err != nil {
			return nil, err
		}
		versions = append(versions, entry.Name())
	}
	slices.SortFunc(versions, Compare)
	return versions, nil
}

// Newest returns the file of a situation's last recorded history, no later than that
// of a release, and which release that is; both are empty if there is none.
func Newest(folder, situation, until string) (file, version string) {
	versions, _ := Versions(folder)
	for _, v := range slices.Backward(versions) {
		file := filepath.Join(folder, v, situation+".json")
		if _, err := os.Stat(file); err == nil && Compare(v, until) <= 0 {
			return file, v
		}
	}
	return "", ""
}

// Compare orders releases.
func Compare(a, b string) int {
	x, errX := number(a)
	y, errY := number(b)
	if errX != nil || errY != nil {
		return cmp.Compare(a, b)
	}
	return slices.Compare(x, y)
}

func number(version string) (parts []int, err error) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is no release; the folders of histories are named as v0.1.0 is", version)
		}
		parts = append(parts, n)
	}
	return parts, nil
}
