package workflows

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterHosted registers the activity that tells which servers the worker hosts.
func RegisterHosted(registry worker.ActivityRegistry, names []string) {
	registry.RegisterActivityWithOptions(func(context.Context) (*Servers, error) {
		return &Servers{Servers: names}, nil
	}, activity.RegisterOptions{Name: typeHosted})
}
