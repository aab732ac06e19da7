package queue_test

import (
	"fmt"

	"github.com/mcpsession/mcpsession/queue"
)

func Example() {
	taskQueue := queue.Name("browser", "0199a2c4-run", "jq5kd3mw")
	fmt.Println(taskQueue)
	server, runID, key, ok := queue.Parse(taskQueue)
	fmt.Println(server, runID, key, ok)
	fmt.Println(queue.OperationActivity("browser", queue.OperationCallTool))
	// Output:
	// browser@0199a2c4-run/jq5kd3mw
	// browser 0199a2c4-run jq5kd3mw true
	// mcp.browser.call-tool
}
