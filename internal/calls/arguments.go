package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxToolName is how many bytes a tool's name may have. It is no part of the
// arguments, which have a bound of their own, and a call over the payload limit
// would fail the workflow task for ever.
const MaxToolName = 1 << 10

// CheckTool returns an error when a tool's name can't be sent.
func CheckTool(tool string) error {
	if tool == "" {
		return fmt.Errorf("the tool's name is empty")
	}
	if len(tool) > MaxToolName {
		return fmt.Errorf("the tool's name %.40q… has %d bytes; at most %d are allowed", tool, len(tool), MaxToolName)
	}
	return nil
}

// EncodeArguments returns the arguments as the JSON object that MCP wants.
func EncodeArguments(arguments any, most int) (json.RawMessage, error) {
	if arguments == nil {
		return nil, nil
	}
	raw, err := json.Marshal(arguments) //workflowcheck:ignore
	if err != nil {
		return nil, fmt.Errorf("encode the arguments (%T) as JSON: %w", arguments, err)
	}
	switch {
	case bytes.Equal(raw, []byte("null")):
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("the arguments (%T) encode to %s, not to a JSON object; pass a map or a struct",
			arguments, strings.ToValidUTF8(string(raw[:min(len(raw), 40)]), "\uFFFD"))
	case len(raw) > most:
		return nil, fmt.Errorf("the arguments have %d bytes of JSON; at most %d are allowed: "+
			"pass a reference to the data instead, or raise Options.MaxArguments if the namespace's payload limit is higher", len(raw), most)
	}
	return raw, nil
}

// CheckSize returns an error when what is to be sent has too many bytes.
func CheckSize(what string, value any, most int) error {
	raw, err := json.Marshal(value) //workflowcheck:ignore
	if err != nil {
		return fmt.Errorf("encode %s: %w", what, err)
	}
	if len(raw) > most {
		return fmt.Errorf("%s have %d bytes of JSON; at most %d are allowed (Options.MaxArguments)", what, len(raw), most)
	}
	return nil
}

// EncodeArgument returns what is for the server's connector as JSON; nil without any.
func EncodeArgument(field string, argument any, most int) (json.RawMessage, error) {
	if argument == nil {
		return nil, nil
	}
	raw, err := json.Marshal(argument) //workflowcheck:ignore
	if err != nil {
		return nil, fmt.Errorf("encode %s (%T): %w", field, argument, err)
	}
	if len(raw) > most {
		return nil, fmt.Errorf("%s has %d bytes of JSON; at most %d are allowed", field, len(raw), most)
	}
	return raw, nil
}
