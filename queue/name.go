package queue

import (
	"fmt"
	"strings"
)

// MaxServerName is how many bytes a server's name may have.
const MaxServerName = 64

// Name returns the task queue of one block's operations.
func Name(server, runID, key string) string {
	return server + "@" + runID + "/" + key
}

// Parse is the inverse of [Name]. It reports false for a string that Name does
// not return for a valid server name and non-empty parts.
func Parse(taskQueue string) (server, runID, key string, ok bool) {
	server, rest, found := strings.Cut(taskQueue, "@")
	if !found || ValidateServer(server) != nil {
		return "", "", "", false
	}
	runID, key, found = strings.Cut(rest, "/")
	if !found || runID == "" || key == "" || strings.ContainsAny(runID, "@/") || strings.ContainsAny(key, "@/") {
		return "", "", "", false
	}
	return server, runID, key, true
}

// ValidateServer returns an error that names the fault when name can't be a
// server's name: it is part of task queues and activity types, so it has 1 to
// [MaxServerName] letters, digits, '-' and '_'.
func ValidateServer(name string) error { return validate("an", "MCP server", name) }

// ValidateScript returns an error that names the fault when name can't be a script's
// name: the rule is that of [ValidateServer].
func ValidateScript(name string) error { return validate("a", "script", name) }

func validate(article, of, name string) error {
	if name == "" {
		return fmt.Errorf("the name of %s is empty; give it 1 to %d letters, digits, '-' or '_'", article+" "+of, MaxServerName)
	}
	if len(name) > MaxServerName {
		return fmt.Errorf("the %s name %.80q has %d bytes; at most %d are allowed", of, name, len(name), MaxServerName)
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		default:
			return fmt.Errorf("the %s name %q has the character %q; use letters, digits, '-' and '_'", of, name, r)
		}
	}
	return nil
}

// An OperationName is the last part of an activity type: what is asked of a
// session.
type OperationName string

// The operations of a session. All but session-info and close-session are served
// without one, too; see [StatelessActivity].
const (
	OperationSessionInfo           OperationName = "session-info"
	OperationListTools             OperationName = "list-tools"
	OperationCallTool              OperationName = "call-tool"
	OperationListPrompts           OperationName = "list-prompts"
	OperationGetPrompt             OperationName = "get-prompt"
	OperationListResources         OperationName = "list-resources"
	OperationListResourceTemplates OperationName = "list-resource-templates"
	OperationReadResource          OperationName = "read-resource"
	OperationComplete              OperationName = "complete"
	OperationRunScript             OperationName = "run-script"
	OperationCloseSession          OperationName = "close-session"
)

// SessionActivity returns the activity type of a server's session activity.
func SessionActivity(server string) string { return "mcp." + server + ".session" }

// OperationActivity returns the activity type of an operation in a session.
func OperationActivity(server string, operation OperationName) string {
	return "mcp." + server + "." + string(operation)
}

// StatelessActivity returns the activity type of an operation without a session.
// Its input is a [Stateless].
func StatelessActivity(server string, operation OperationName) string {
	return "mcp." + server + ".stateless." + string(operation)
}
