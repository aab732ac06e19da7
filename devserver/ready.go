package main

import (
	"context"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	// readyTimeout is far more than a start takes, also on a machine that builds something else meanwhile.
	readyTimeout = 2 * time.Minute
	// readyPoll is how often what isn't ready is asked again.
	readyPoll = 20 * time.Millisecond
	// readyAttempt bounds one question. Asked too early, the server lets it wait for what isn't there yet.
	readyAttempt = 5 * time.Second
)

// awaitFrontend returns when the frontend serves the namespaces and, behind it, the history shard is there. A server that
// only listens would let the first workflow wait, or a client fail that doesn't retry.
func awaitFrontend(ctx context.Context, address string, namespaces []string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("cannot make a client for the frontend at %s: %w", address, err)
	}
	defer connection.Close()
	frontend := workflowservice.NewWorkflowServiceClient(connection)

	for _, namespace := range namespaces {
		err := retry(ctx, func(ctx context.Context) error {
			return askHistory(ctx, frontend, namespace)
		})
		if err != nil {
			return fmt.Errorf("namespace %q is not served by the frontend at %s: %w; a lower -log-level tells what it is doing",
				namespace, address, err)
		}
	}
	return nil
}

// askHistory asks for a workflow that isn't there. Only a history shard can say so.
func askHistory(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespace string) error {
	_, err := frontend.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	_, err = frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: "devserver-is-ready"},
	})
	// Told apart from the namespace not being found, which the frontend says until it has read the list of them.
	if _, absent := serviceerror.FromStatus(status.Convert(err)).(*serviceerror.NotFound); absent {
		return nil
	}
	return err
}

// retry calls ask until it returns nil or the context ends, and then returns its last error.
func retry(ctx context.Context, ask func(context.Context) error) error {
	pause := time.NewTicker(readyPoll)
	defer pause.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, readyAttempt)
		err := ask(attempt)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return err
		}
	}
}
