package quickstart_test

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/examples/internal/testserver"
)

var server testserver.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
