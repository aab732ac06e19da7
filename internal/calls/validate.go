package calls

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"go.temporal.io/sdk/workflow"
)

// An ArgumentError says which field of a tool's arguments its input schema does not
// allow, and why.
type ArgumentError struct {
	// Path is the JSON pointer (RFC 6901) of the field in the arguments; empty for
	// the arguments as a whole.
	Path string
	// Problem says what is wrong with it.
	Problem string
}

func (e *ArgumentError) Error() string {
	if e.Path == "" {
		return "the arguments don't match the tool's input schema: " + e.Problem
	}
	return fmt.Sprintf("the argument %s does not match the tool's input schema: %s", e.Path, e.Problem)
}

// Validate returns an *ArgumentError when the arguments are not what the schema of
// a tool's input wants. A schema that can't be read, or refers to others, allows
// everything: the server has the last word. What it says is the same at each
// replay, though workflowcheck can't see it: the library goes through maps.
func Validate(inputSchema any, arguments json.RawMessage) error {
	root, err := readSchema(inputSchema)
	if err != nil || root == nil {
		return nil
	}
	var instance any = map[string]any{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &instance); err != nil {
			return &ArgumentError{Problem: "they are no JSON: " + err.Error()}
		}
	}
	if matches, known := check(root, root, instance); matches || !known {
		return nil
	}
	return locate(root, root, instance, "")
}

func readSchema(inputSchema any) (*jsonschema.Schema, error) {
	raw, err := json.Marshal(inputSchema)
	if err != nil {
		return nil, err
	}
	var schema *jsonschema.Schema
	err = json.Unmarshal(raw, &schema)
	return schema, err
}

// check reports whether an instance matches a schema that is part of root, and
// whether that can be known.
func check(root, schema *jsonschema.Schema, instance any) (matches, known bool) {
	problem, known := problemOf(root, schema, instance)
	return problem == "", known
}

// problemOf returns what the library says of an instance that does not match.
func problemOf(root, schema *jsonschema.Schema, instance any) (problem string, known bool) {
	part := schema
	if schema != root {
		// References lead into the root's definitions.
		part = schema.CloneSchemas()
		part.Defs, part.Definitions, part.Schema = root.Defs, root.Definitions, root.Schema
	}
	resolved, err := part.CloneSchemas().Resolve(nil)
	if err != nil {
		return "", false
	}
	err = resolved.Validate(instance)
	if err != nil && strings.HasPrefix(err.Error(), "cannot validate version") {
		return "", false
	}
	if err != nil {
		return err.Error(), true
	}
	return "", true
}

// locate returns the error of the innermost field that does not match. Fields are
// gone through in the order of their names: the library's own error is of any.
func locate(root, schema *jsonschema.Schema, instance any, path string) *ArgumentError {
	schema = follow(root, schema)
	switch value := instance.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(slices.Values(schema.Required)) {
			if _, ok := value[name]; !ok {
				return &ArgumentError{Path: path + "/" + escape(name), Problem: "it is required and missing"}
			}
		}
		for _, name := range workflow.DeterministicKeys(value) {
			field, ok := schema.Properties[name]
			if !ok {
				if field = schema.AdditionalProperties; field == nil || len(schema.PatternProperties) > 0 {
					continue
				}
				if isFalse(field) {
					return &ArgumentError{Path: path + "/" + escape(name), Problem: "there is no such argument; it knows " +
						quoted(workflow.DeterministicKeys(schema.Properties))}
				}
			}
			if matches, known := check(root, field, value[name]); !matches && known {
				return locate(root, field, value[name], path+"/"+escape(name))
			}
		}
	case []any:
		for i, item := range value {
			if schema.Items == nil {
				break
			}
			if matches, known := check(root, schema.Items, item); !matches && known {
				return locate(root, schema.Items, item, path+"/"+strconv.Itoa(i))
			}
		}
	}
	return &ArgumentError{Path: path, Problem: describe(root, schema, instance)}
}

// follow returns the schema that a reference into the root's definitions leads to.
func follow(root, schema *jsonschema.Schema) *jsonschema.Schema {
	for range len(root.Defs) + len(root.Definitions) + 1 {
		name, ok := strings.CutPrefix(schema.Ref, "#/$defs/")
		in := root.Defs
		if !ok {
			if name, ok = strings.CutPrefix(schema.Ref, "#/definitions/"); !ok {
				return schema
			}
			in = root.Definitions
		}
		to := in[name]
		if to == nil {
			return schema
		}
		schema = to
	}
	return schema
}

// describe says what is wrong with a value that has no field at fault. Of the
// library's text only what it says of values is taken: in the rest are addresses.
func describe(root, schema *jsonschema.Schema, instance any) string {
	text, _ := problemOf(root, schema, instance)
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, problem, ok := strings.Cut(text[i:], ": "); ok {
			text = problem
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not"} {
		if strings.Contains(text, keyword+":") || len(schema.AnyOf)+len(schema.OneOf) > 0 {
			return "it matches none of the forms that are allowed"
		}
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// isFalse reports whether a schema is the one that allows nothing.
func isFalse(schema *jsonschema.Schema) bool {
	raw, err := json.Marshal(schema)
	return err == nil && string(raw) == "false"
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func quoted(names []string) string {
	q := make([]string, 0, len(names))
	for _, name := range names {
		q = append(q, strconv.Quote(name))
	}
	return strings.Join(q, ", ")
}
