package calls

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Merge must know every field of the SDK's options: one that it forgot would be
// dropped without a word. The test sets each by reflection, so that a field of a
// later SDK is caught.
func TestMergeTakesEveryField(t *testing.T) {
	t.Parallel()
	var over workflow.ActivityOptions
	fields := reflect.ValueOf(&over).Elem()
	for i := range fields.NumField() {
		field := fields.Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("set")
		case reflect.Int, reflect.Int64:
			field.SetInt(7)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Struct:
			field.Field(0).SetInt(7)
		default:
			t.Fatalf("field %s has kind %v: teach the test", fields.Type().Field(i).Name, field.Kind())
		}
		merged := reflect.ValueOf(Merge(workflow.ActivityOptions{}, over)).Field(i)
		if !reflect.DeepEqual(merged.Interface(), field.Interface()) {
			t.Errorf("merge drops %s", fields.Type().Field(i).Name)
		}
	}
	base := workflow.ActivityOptions{StartToCloseTimeout: time.Second, Summary: "base"}
	if merged := Merge(base, workflow.ActivityOptions{Summary: "over"}); merged.StartToCloseTimeout != time.Second || merged.Summary != "over" {
		t.Errorf("merge of one field: %+v", merged)
	}
}

func TestEncodeArguments(t *testing.T) {
	t.Parallel()
	type input struct {
		N json.Number `json:"n"`
	}
	for name, tc := range map[string]struct {
		arguments any
		want      string
		err       string
	}{
		"nil":          {nil, "", ""},
		"nil map":      {map[string]any(nil), "", ""},
		"map":          {map[string]any{"a": 1}, `{"a":1}`, ""},
		"struct":       {input{"9007199254740993"}, `{"n":9007199254740993}`, ""},
		"raw":          {json.RawMessage(`{"n":1e400}`), `{"n":1e400}`, ""},
		"a slice":      {[]int{1}, "", "not to a JSON object"},
		"a string":     {"text", "", "not to a JSON object"},
		"a channel":    {make(chan int), "", "chan int"},
		"broken raw":   {json.RawMessage(`{`), "", "encode the arguments"},
		"over the top": {map[string]any{"a": strings.Repeat("x", 100)}, "", "at most 50"},
	} {
		raw, err := EncodeArguments(tc.arguments, 50)
		if string(raw) != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %s, %v; want %q, an error with %q", name, raw, err, tc.want, tc.err)
		}
	}
}
