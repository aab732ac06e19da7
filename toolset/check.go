package toolset

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"
)

// maxToolName is how many bytes a tool's name may have. It is no part of the
// arguments, which have a bound of their own, and a call over the payload limit
// would fail the workflow task for ever.
const maxToolName = 1 << 10

// checkActivity returns an error that names the field when the server would refuse
// the options, which fails the workflow task again and again.
func checkActivity(field string, options workflow.ActivityOptions) error {
	type named struct {
		name  string
		value time.Duration
	}
	durations := []named{
		{"ScheduleToCloseTimeout", options.ScheduleToCloseTimeout},
		{"ScheduleToStartTimeout", options.ScheduleToStartTimeout},
		{"StartToCloseTimeout", options.StartToCloseTimeout},
		{"HeartbeatTimeout", options.HeartbeatTimeout},
	}
	if policy := options.RetryPolicy; policy != nil {
		durations = append(durations,
			named{"RetryPolicy.InitialInterval", policy.InitialInterval},
			named{"RetryPolicy.MaximumInterval", policy.MaximumInterval},
		)
		switch {
		case policy.MaximumAttempts < 0:
			return fmt.Errorf("%s set RetryPolicy.MaximumAttempts to %d; use zero for no limit", field, policy.MaximumAttempts)
		case policy.BackoffCoefficient != 0 && policy.BackoffCoefficient < 1:
			return fmt.Errorf("%s set RetryPolicy.BackoffCoefficient to %v; it must be 1 or more, or zero for the default", field, policy.BackoffCoefficient)
		case policy.MaximumInterval > 0 && policy.MaximumInterval < policy.InitialInterval:
			return fmt.Errorf("%s set RetryPolicy.MaximumInterval to %v, which is below the InitialInterval of %v",
				field, policy.MaximumInterval, policy.InitialInterval)
		}
	}
	for _, d := range durations {
		if d.value < 0 {
			return fmt.Errorf("%s set %s to %v; use zero for the default", field, d.name, d.value)
		}
	}
	return nil
}
