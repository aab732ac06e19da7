package toolset

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
)

// WithOptions returns the same block with other options for the operations that
// are made through it: a field of o that is not zero wins over what the block's
// options say, for all operations and for the tool; RetryPolicy is one field. The
// session, its state and what is cached are the block's, and Close of either closes
// both.
//
//	slow := ts.WithOptions(toolset.Options{CallTimeout: 10 * time.Minute})
//	result, err := slow.CallTool(ctx, "crawl", arguments)
//
// Server, Argument and Session are the block's. They are refused here, as is what
// makes no sense, by the error of each operation through the view.
func (ts *Toolset) WithOptions(o Options) *Toolset {
	view, s := *ts, *ts.settings
	view.over = ts.over.Override(o.common())
	s.MaxArguments = cmp.Or(o.MaxArguments, s.MaxArguments)
	s.MaxResult = cmp.Or(o.MaxResult, s.MaxResult)
	s.Options = s.Override(Options{
		Repeatable: o.Repeatable, CacheResults: o.CacheResults, CacheTools: o.CacheTools, ValidateArguments: o.ValidateArguments,
		ScriptTimeout: o.ScriptTimeout,
	})
	view.settings = &s
	if err := checkView(o); err != nil && view.fault == nil {
		view.fault = fmt.Errorf("toolset: server %q: WithOptions: %w", s.Server, err)
	}
	return &view
}

func checkView(o Options) error {
	switch {
	case o.Server != "", o.Argument != nil, !reflect.ValueOf(o.Session).IsZero():
		return errors.New("Server, Argument and Session are those of the open block; leave them empty, or open another block")
	case o.CallTimeout < 0, o.ScriptTimeout < 0, o.MaxArguments < 0, o.MaxResult < 0:
		return fmt.Errorf("CallTimeout is %v, ScriptTimeout %v, MaxArguments %d and MaxResult %d; use zero for what the block has",
			o.CallTimeout, o.ScriptTimeout, o.MaxArguments, o.MaxResult)
	}
	return nil
}
