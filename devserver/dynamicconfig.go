package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// unlimited is a rate that no test comes near. (Zero means "no limit" for some settings and "the default" for others.)
const unlimited = 1_000_000

// defaultSettings is where this server differs from the defaults of a cluster that many people share.
var defaultSettings = dynamicconfig.StaticClient{
	// With one history shard these are the pace of everything: at the default of 20 a second each step of a workflow waits
	// about 45 ms once the first second's burst is spent, and an activity takes 100 ms instead of 17.
	dynamicconfig.TransferProcessorMaxPollRPS.Key():   10_000,
	dynamicconfig.TimerProcessorMaxPollRPS.Key():      10_000,
	dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 10_000,
	dynamicconfig.OutboundProcessorMaxPollRPS.Key():   10_000,

	// When a write is cut off, as by a process that is killed in the middle of its call, what it has put off is found again
	// only at the next look into the queue. The default is a minute.
	dynamicconfig.TransferProcessorMaxPollInterval.Key(): time.Second,
	dynamicconfig.TimerProcessorMaxPollInterval.Key():    time.Second,

	// A timer that is set for less than this from now fires this late. The second that it is by default makes up for the
	// difference between the clocks of several hosts; here there is one clock. Retries and timeouts are timers too.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,

	// Every MCP session has a task queue of its own; four partitions each cost memory and spread one poller thin.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	dynamicconfig.FrontendRPS.Key():                                                        unlimited,
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                                 unlimited,
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():                       unlimited,
	dynamicconfig.FrontendNamespaceReplicationInducingAPIsRPS.Key():                        unlimited,
	dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance.Key(): unlimited,
	dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key():                unlimited,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():                                          unlimited,
	dynamicconfig.HistoryRPS.Key():                                                         unlimited,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():                                           unlimited,
	dynamicconfig.MatchingRPS.Key():                                                        unlimited,
	dynamicconfig.MatchingPersistenceMaxQPS.Key():                                          unlimited,
	dynamicconfig.WorkerPersistenceMaxQPS.Key():                                            unlimited,

	// A search attribute that was just added can be used at once.
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	// The only call to the outside.
	dynamicconfig.EnableServerVersionCheck.Key(): false,
	// Clean-up of what months of production leave behind.
	dynamicconfig.TaskQueueScannerEnabled.Key(): false,
	dynamicconfig.HistoryScannerEnabled.Key():   false,
}

// dynamicSettings are the settings given by flags.
type dynamicSettings struct {
	values dynamicconfig.ConfigValueMap
}

// add reads one key=value. The server itself would only log a warning about a key or a value that it can't use, and go on
// with the default.
func (d *dynamicSettings) add(assignment string) error {
	key, value, found := strings.Cut(assignment, "=")
	if key = strings.TrimSpace(key); !found || key == "" {
		return errors.New("write it as key=value, such as limit.blobSize.error=1000000")
	}
	if !json.Valid([]byte(value)) {
		quoted, err := json.Marshal(value)
		if err != nil {
			return err
		}
		value = string(quoted)
	}

	// The loader takes a list of values with the constraints of each, in YAML, of which JSON is a part.
	loader := dynamicconfig.YamlLoader{Map: d.values}
	loader.LoadValue(dynamicconfig.MakeKey(key), fmt.Appendf(nil, `[{"value": %s}]`, value))
	if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
		return fmt.Errorf("%w; see the dynamic configuration of the Temporal server for the keys and what they take", err)
	}
	d.values = loader.Map
	return nil
}

// client returns the defaults with the given settings over them.
func (d *dynamicSettings) client() dynamicconfig.Client {
	settings := maps.Clone(defaultSettings)
	for key, values := range d.values {
		settings[key] = values
	}
	return settings
}
