package session

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	inputName    = regexp.MustCompile(`^input:[A-Za-z0-9_.-]{1,80}$`)
	// What an editor knows of itself and of what is open in it.
	editorVariables = regexp.MustCompile(`^(workspaceFolder|workspaceFolderBasename|cwd|file[A-Za-z]*|relativeFile[A-Za-z]*|pathSeparator|execPath|CLAUDE_PLUGIN_[A-Z]+)$`)
)

// userHome is the one variable of editors that a worker knows, too.
const userHome = "userHome"

// expandVariables replaces the variables of a text, and returns their values beside.
// Its errors name variables whose names are such, and quote nothing else: what only
// looks like one may be a part of a password.
func expandVariables(text string) (expanded string, values []string, errs []error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), values, errs
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			text = rest
			continue
		}
		out.WriteString(before)
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", values, append(errs, errors.New(`it has a "${" without its "}"; write "$${" for the characters themselves`))
		}
		value, isSet, err := variable(inner)
		if err != nil {
			errs = append(errs, err)
		}
		if isSet {
			values = append(values, value)
		}
		out.WriteString(value)
		text = after
	}
}

// variable returns what stands for ${inner}, and whether it is the value of a variable
// that is set.
func variable(inner string) (value string, isSet bool, err error) {
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	switch {
	case strings.Contains(fallback, "${"):
		return "", false, errors.New("a variable inside of another's default is not replaced; write the default itself")
	case inputName.MatchString(inner):
		return "", false, fmt.Errorf("${%s} is asked for by an editor, and nobody is there to ask on a worker; set a variable for the worker and write ${VAR}", inner)
	case inner == userHome:
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false, errors.New("${userHome}: the worker has no home directory; set HOME")
		}
		return home, true, nil
	case editorVariables.MatchString(inner):
		return "", false, fmt.Errorf("${%s} is known in an editor only; write the path, or set a variable for the worker and write ${VAR}", inner)
	case !variableName.MatchString(name):
		return "", false, errors.New(`it has a "${…}" that is no variable's name; write ${VAR}, ${VAR:-default} or ${env:VAR}, and "$${" for the characters themselves`)
	}
	if value, ok := os.LookupEnv(name); ok {
		return value, true, nil
	}
	if !hasFallback {
		return "", false, fmt.Errorf("the variable %.80s is not set; set it for the worker, or write ${%.80s:-default}", name, name)
	}
	return fallback, false, nil
}
