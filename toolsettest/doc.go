// Package toolsettest tests workflows that use MCP servers, with no Temporal server, no
// worker and no network. It is for tests: it adds the servers to a
// [testsuite.TestWorkflowEnvironment] of the Temporal SDK, in which timers take no time.
//
//	func TestOrder(t *testing.T) {
//		var suite testsuite.WorkflowTestSuite
//		env := suite.NewTestWorkflowEnvironment()
//		kit := toolsettest.New(t, env, toolsettest.Server{Name: "shop", Tools: map[string]toolsettest.Tool{
//			"add": func(ctx context.Context, arguments json.RawMessage) (any, error) { return "1 item", nil },
//			"buy": func(ctx context.Context, arguments json.RawMessage) (any, error) { return "thank you", nil },
//		}})
//		kit.OnCall("shop", "buy", 1).Lose(failure.ReasonServerGone, toolsettest.BeforeItRuns)
//
//		env.ExecuteWorkflow(Order, "a pear")
//
//		if err := env.GetWorkflowError(); err != nil {
//			t.Error(err)
//		}
//		kit.ExpectCalls( // Order begins again when its session is lost
//			toolsettest.Call{Session: 1, Tool: "add", Arguments: []byte(`{"item":"a pear"}`)},
//			toolsettest.Call{Session: 1, Tool: "buy"},
//			toolsettest.Call{Session: 2, Tool: "add"},
//			toolsettest.Call{Session: 2, Tool: "buy"},
//		)
//	}
//
// For more than functions, [Server] takes a real *mcp.Server, with schemas, prompts,
// resources and state of each session. Blocks, several of them at once, of several
// servers, in child workflows, and stateless calls work as they are written. So do
// scripts, once the test's package has registered them by [session.RegisterScript]: those
// of a block call in its session, and the calls of toolset.RunScript count as stateless
// ones, of Session zero.
//
// # What a test can plan
//
//   - [Kit.OnCall]: the n-th call of a tool is slow, refused, answered by an error, or its
//     session is lost, before the tool runs, with the answer, or after it.
//   - [Kit.OnOpen]: an attempt to open the server fails.
//   - [Kit.LoseAt]: the open sessions of a server are lost at a time.
//   - Server.IdleTimeout, and the timeout of the session itself, pass on the workflow's
//     clock.
//
// What was planned and did not happen fails the test, and so does a session that is open
// when the test ends; see [Kit.AllowOpen]. [Kit.Calls], [Kit.ExpectCalls] and
// [Kit.Sessions] say what happened.
//
// # What is real, and what is not
//
// Calls reach the servers by the MCP SDK's in-memory transport, through the engine that a
// worker has: results, the ledger, what is sent again and what is not, and the failures
// are the same. An attempt to open that fails is tried again, as on a worker. There is no
// host, and so there are no heartbeats and markers, no task queue, no payload limit, and
// no retry of an activity whose answer was lost; each of these is tested in the library's
// own tests. Of the environment:
//
//   - It logs each session, when that opens, as an activity whose result is an
//     *errors.errorString: that is the one which is pending until the session ends. A
//     logger of the WorkflowTestSuite's own, by SetLogger, can leave that out.
//   - A tool that takes time takes real time, during which the workflow's clock stands, or
//     goes no faster than a real one. Use [CallFault.Slow].
//   - A retry policy's pauses do not grow unless it sets MaximumInterval, and it has ten
//     attempts at most unless it sets MaximumAttempts.
//   - The main workflow is not run again when it continues as new or is retried; a child
//     is.
//   - A session that an *mcp.Server ends by itself ends in real time: the clock may be
//     ahead. Use [CallFault.Lose] or [Kit.LoseAt] where that matters.
//   - A call that meets the end of its session is told so at once, and what waits for the
//     session's end by itself, a second later on the workflow's clock.
//   - A child is woken by an update that nobody handles and no code of the workflow sees. If
//     it is the child's last task, the environment leaves a goroutine behind, as it does for
//     a child that is retried: tell goleak, if you use it.
//   - A block that is cancelled in the very moment in which its session opens may be taken
//     for one that was not closed.
//   - Slow calls do not count for each other's time: there is no MaxConcurrentCalls, and
//     what comes of them is not retried.
package toolsettest
