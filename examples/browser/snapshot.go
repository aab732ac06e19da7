package browser

import (
	"fmt"
	"strings"
)

// An element is one line of a snapshot, which shows a page as a tree of what an
// assistive technology would tell of it:
//
//   - heading "Tea shop" [level=1] [ref=e2]
//   - textbox "Your name" [active] [ref=e5]: Ada
//   - status [ref=e8]: Thank you, Ada.
type element struct {
	ref  string // what the tools know it by
	text string
}

// findElement returns the first element of a role and a name, which may be empty.
func findElement(snapshot, role, name string) (element, error) {
	label := role
	if name != "" {
		label = fmt.Sprintf("%s %q", role, name)
	}
	for line := range strings.Lines(snapshot) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "- "+label+" [")
		if !ok {
			continue
		}
		_, rest, ok = strings.Cut("["+rest, "[ref=")
		if !ok {
			continue // it can't be reached
		}
		ref, rest, _ := strings.Cut(rest, "]")
		_, text, _ := strings.Cut(rest, ": ")
		return element{ref: ref, text: text}, nil
	}
	return element{}, fmt.Errorf("no %s on the page:\n%s", label, snapshot)
}
