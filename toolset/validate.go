package toolset

import (
	"encoding/json"
	"fmt"

	"github.com/mcpsession/mcpsession/internal/calls"
)

// An ArgumentError says which field of a tool's arguments its input schema does not
// allow: see Options.ValidateArguments.
type ArgumentError = calls.ArgumentError

// validate returns an error when the block is to check arguments, and these are not
// what the tool wants.
func (ts *Toolset) validate(tool string, arguments json.RawMessage) error {
	if !ts.settings.ValidateArguments {
		return nil
	}
	definition := ts.definition(tool)
	if definition == nil {
		return nil
	}
	err := calls.Validate(definition.InputSchema, arguments) //workflowcheck:ignore
	if err != nil {
		return fmt.Errorf("toolset: tool %q of server %q: %w", calls.Clip(tool), ts.settings.Server, err)
	}
	return nil
}
