package calls

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const orderSchema = `{
	"type": "object",
	"required": ["item", "count"],
	"additionalProperties": false,
	"properties": {
		"item": {"type": "string", "minLength": 1},
		"count": {"type": "integer", "minimum": 1},
		"colour": {"enum": ["red", "blue"]},
		"note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
		"to": {"$ref": "#/$defs/address"},
		"parts": {"type": "array", "items": {"$ref": "#/$defs/address"}},
		"a/b": {"type": "string"}
	},
	"$defs": {"address": {"type": "object", "required": ["city"], "properties": {
		"city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]+$"}}}}
}`

// An argument that the schema does not allow is named by its path, always the same
// one of several, whatever nesting and references are in between.
func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]struct{ path, problem string }{
		`{"item":"x","count":1}`: {},
		`{"item":"x","count":1,"note":null,"to":{"city":"Bonn"},"parts":[{"city":"Ulm","zip":"89073"}]}`: {},
		``:                                        {"/count", "required"},
		`{"count":1}`:                             {"/item", "required"},
		`{"item":"","count":1}`:                   {"/item", "minLength"},
		`{"item":"x","count":"1"}`:                {"/count", "integer"},
		`{"item":"x","count":0}`:                  {"/count", "less than 1"},
		`{"item":"x","count":1,"size":3}`:         {"/size", `"colour"`},
		`{"item":7,"count":"1"}`:                  {"/count", "integer"},
		`{"item":"x","count":1,"a/b":1}`:          {"/a~1b", "string"},
		`{"item":"x","count":1,"note":7}`:         {"/note", "none of the forms"},
		`{"item":"x","count":1,"colour":"green"}`: {"/colour", "green"},
		`{"item":"x","count":1,"to":{"zip":"1"}}`: {"/to/city", "required"},
		`{"item":"x","count":1,"to":{"city":"Bonn","zip":"x"}}`:      {"/to/zip", "pattern"},
		`{"item":"x","count":1,"parts":[{"city":"Ulm"},{"city":5}]}`: {"/parts/1/city", "string"},
	} {
		for range 20 { // a map's order would show
			err := Validate(json.RawMessage(orderSchema), json.RawMessage(arguments))
			if want.path == "" {
				if err != nil {
					t.Errorf("%s: %v", arguments, err)
				}
				break
			}
			var fault *ArgumentError
			if !errors.As(err, &fault) || fault.Path != want.path || !strings.Contains(fault.Problem, want.problem) || strings.Contains(err.Error(), "0x") {
				t.Errorf("%s: %v; want path %s, %q", arguments, err, want.path, want.problem)
				break
			}
		}
	}
}

// What can't be judged here is the server's to judge.
func TestValidateLeavesTheRestToTheServer(t *testing.T) {
	t.Parallel()
	for _, schema := range []any{
		nil, json.RawMessage(`{}`), json.RawMessage(`true`), "no schema", json.RawMessage(`{"$ref":"https://example.com/other"}`),
		json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"string"}`),
	} {
		if err := Validate(schema, json.RawMessage(`{"x":1}`)); err != nil {
			t.Errorf("%v: %v", schema, err)
		}
	}
}

// Older definitions are followed, too.
func TestValidateFollowsDefinitions(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
		"properties":{"to":{"$ref":"#/definitions/city"}},"definitions":{"city":{"type":"string"}}}`)
	err := Validate(schema, json.RawMessage(`{"to":5}`))
	var fault *ArgumentError
	if !errors.As(err, &fault) || fault.Path != "/to" || !strings.Contains(fault.Problem, "string") {
		t.Errorf("got %v", err)
	}
}
