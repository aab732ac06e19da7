package main

import (
	"net/netip"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const clusterName = "active"

// listeners are the addresses of the services, each with its real port.
type listeners map[primitives.ServiceName]netip.AddrPort

// claimListeners gives the frontend its endpoint and the inner services free ports of the loopback interface. No other
// ports are opened: metrics and profiling are off, and static hosts stand in for the membership protocol.
func claimListeners(frontend endpoint) (listeners, error) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	claimed := listeners{primitives.FrontendService: frontend.addr}
	for _, service := range []primitives.ServiceName{
		primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		addr, err := reservePort(loopback)
		if err != nil {
			return nil, err
		}
		claimed[service] = addr
	}
	return claimed, nil
}

// hosts tells every service where the others are.
func (l listeners) hosts() map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(l))
	for service, addr := range l {
		hosts[service] = static.SingleLocalHost(dialable(addr).String())
	}
	return hosts
}

// serverConfig describes a cluster of one: every service in this process, one history shard, no archival.
func serverConfig(listeners listeners, database *config.SQL) *config.Config {
	frontend := dialable(listeners[primitives.FrontendService]).String()
	services := make(map[string]config.Service, len(listeners))
	for service, addr := range listeners {
		services[string(service)] = config.Service{RPC: config.RPC{
			GRPCPort: int(addr.Port()),
			BindOnIP: addr.Addr().String(),
		}}
	}
	return &config.Config{
		Services: services,
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
	}
}
