package replaytests_test

import (
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpsession/mcpsession/replaytests"
)

// textOf returns all strings of a history, those in payloads too.
func textOf(h *replaytests.History) string {
	var all strings.Builder
	for _, event := range h.Events {
		collect(event.ProtoReflect(), &all)
	}
	return all.String()
}

func collect(m protoreflect.Message, all *strings.Builder) {
	if p, ok := m.Interface().(*commonpb.Payload); ok {
		all.Write(p.GetData())
		all.WriteByte('\n')
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		each := func(v protoreflect.Value) {
			switch x := v.Interface().(type) {
			case protoreflect.Message:
				collect(x, all)
			case string:
				all.WriteString(x + "\n")
			}
		}
		switch {
		case field.IsList():
			for i := range value.List().Len() {
				each(value.List().Get(i))
			}
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { each(v); return true })
		default:
			each(value)
		}
		return true
	})
}
