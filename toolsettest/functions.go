package toolsettest

import (
	"context"
	"reflect"

	"go.temporal.io/sdk/activity"
)

// A function is an activity of package session: of a context and an input, with a
// result and an error.
type function struct{ of reflect.Value }

// call calls it. Args are what [function.like] was called with.
func (f function) call(ctx context.Context, args []reflect.Value) (any, error) {
	out := f.of.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args[1:]...))
	err, _ := out[1].Interface().(error)
	if out[0].IsNil() {
		return nil, err
	}
	return out[0].Interface(), err
}

// like returns an activity of the same type that does something else.
func (f function) like(do func(ctx context.Context, args []reflect.Value) (any, error)) any {
	t := f.of.Type()
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		result, err := do(args[0].Interface().(context.Context), args)
		out := []reflect.Value{reflect.Zero(t.Out(0)), reflect.Zero(t.Out(1))}
		if result != nil {
			out[0] = reflect.ValueOf(result)
		}
		if err != nil {
			out[1] = reflect.ValueOf(&err).Elem()
		}
		return out
	}).Interface()
}

// functions are the activities that were registered with it, by name.
type functions map[string]function

// RegisterActivityWithOptions implements [worker.ActivityRegistry].
func (all functions) RegisterActivityWithOptions(a any, options activity.RegisterOptions) {
	all[options.Name] = function{reflect.ValueOf(a)}
}

// RegisterActivity implements [worker.ActivityRegistry]; all activities have names.
func (functions) RegisterActivity(any) {}

// RegisterDynamicActivity implements [worker.ActivityRegistry]; there are none.
func (functions) RegisterDynamicActivity(any, activity.DynamicRegisterOptions) {}
