package replay

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/internal/mutate"
)

// A change that open runs survive, as it is behind a version, replays; but what new
// runs ask for is not what any history has, and that fails until one is recorded. It is
// applied to the library for one build.
func TestUnrecordedCommandsAreTold(t *testing.T) {
	b := setup(t)
	overlay := mutate.Overlay(t, "../..", "toolset/open.go",
		"	if err := ts.awaitInfo(ctx); err != nil {",
		"	if workflow.GetVersion(ctx, \"audit\", workflow.DefaultVersion, 1) == 1 {\n"+
			"		_ = workflow.Sleep(ctx, time.Millisecond)\n	}\n"+
			"	if err := ts.awaitInfo(ctx); err != nil {")

	// Not in parallel with the test that it runs: the workflows have fixed ids.
	test := func(folder, name string) (string, error) {
		cmd := exec.CommandContext(b.Ctx, "go", "test", "-count=1", "-overlay", overlay, "-run", name, ".")
		cmd.Dir = folder
		cmd.Env = append(append(os.Environ(), server.Environ()...), "GOTOOLCHAIN=local")
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	if output, err := test("../../replaytests", "^TestHistoriesReplay$"); err != nil {
		t.Errorf("the histories do not replay: %v\n%s", err, output)
	}
	output, err := test(".", "^TestHistories$/^cached$/^completed$")
	if err == nil {
		t.Fatal("new commands are not told")
	}
	for _, want := range []string{"--- FAIL: TestHistories/cached/completed", "asks for something else than its newest history", "timer of 1ms", "CONTRIBUTING"} {
		if !strings.Contains(output, want) {
			t.Errorf("the message has no %q:\n%s", want, output)
		}
	}
}
