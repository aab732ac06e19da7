package session

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// What the rules are asked about.
const (
	modelServer     = "model"
	modelTool       = "tool"
	modelActivityID = "7"
)

var (
	runIDs      = [...]string{"run", "reset"}
	scheduledAt = time.Unix(1_000_000, 0).UTC()
)

func newModelAttempt() *attempt {
	return &attempt{
		server: &Server{Name: modelServer}, logger: quiet{}, info: modelInfo(false),
		input:  queue.SessionInput{RunID: runIDs[0], Key: "key"},
		author: heartbeat.Author{Attempt: 1, Host: "host"},
	}
}

func modelBlock(a *attempt) *block {
	b := newBlock(context.Background(), a, "instance")
	b.conn = &connection{carrier: carrier{watched: modelTransport{}}}
	return b
}

func modelInfo(otherRun bool) activity.Info {
	info := activity.Info{
		ActivityID: modelActivityID, Attempt: 1, HeartbeatTimeout: time.Minute, ScheduledTime: scheduledAt,
		WorkflowExecution: workflow.Execution{ID: "workflow", RunID: runIDs[0]}, WorkflowType: &workflow.Type{Name: "model"},
	}
	if otherRun {
		info.WorkflowExecution.RunID = runIDs[1]
	}
	return info
}

// A modelTransport notes when a call is sent and does nothing else.
type modelTransport struct{ transport.Watched }

func (modelTransport) Gone() <-chan struct{} { return nil }

type modelRecorder struct{ answer error }

func (r modelRecorder) RecordActivityHeartbeatWithOptions(context.Context, client.RecordActivityHeartbeatOptions) error {
	return r.answer
}

// A modelClient is a Temporal client that describes one workflow.
type modelClient struct {
	client.Client
	service modelService
}

func (c modelClient) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

type modelService struct {
	workflowservice.WorkflowServiceClient
	response *workflowservice.DescribeWorkflowExecutionResponse
}

func (c modelService) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return c.response, nil
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
