package tests

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

const taskQueue = "tests"

// A workflow runs at once in each of the namespaces, the first as well as the last.
func TestWorkflowRunsInEveryNamespace(t *testing.T) {
	t.Parallel()
	server := start(t, "-namespace", "one,two", "-namespace", "three")
	if server.namespaces != "one,two,three" || server.ui != "none" {
		t.Errorf("ready line says namespaces=%s ui=%s, want one,two,three and none", server.namespaces, server.ui)
	}
	for _, namespace := range strings.Split(server.namespaces, ",") {
		c := server.dial(t, namespace)
		runWorker(t, c)
		if err := runSteps(t, c, 1); err != nil {
			t.Errorf("namespace %s: %v", namespace, err)
		}
	}
}

// Without flags there is one namespace, the one that clients use by default.
func TestDefaultNamespace(t *testing.T) {
	t.Parallel()
	server := start(t)
	if server.namespaces != client.DefaultNamespace {
		t.Errorf("namespaces=%s, want %s", server.namespaces, client.DefaultNamespace)
	}
	c := server.dial(t, client.DefaultNamespace)
	runWorker(t, c)
	if err := runSteps(t, c, 1); err != nil {
		t.Error(err)
	}
}

// The Web UI serves its page and reaches the frontend.
func TestWebUI(t *testing.T) {
	t.Parallel()
	server := start(t, "-ui", "127.0.0.1:0")
	for _, path := range []string{"/", "/namespaces/default/workflows", "/api/v1/namespaces/default"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.ui+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("GET %s: status %s, %d bytes, error %v; want 200 and a body", path, response.Status, len(body), err)
		}
	}
}

func runWorker(t *testing.T, c client.Client) {
	t.Helper()
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(Steps)
	w.RegisterWorkflow(Naps)
	w.RegisterActivity(Step)
	startWorker(t, w)
}

func startWorker(t *testing.T, w worker.Worker) {
	t.Helper()
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}
