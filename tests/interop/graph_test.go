package interop

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// links is what there is to say to both memory servers: a chain of entities of
// which each is made of what the server says of the last one.
func links(s *speaker) conversation { return &writing{speaker: s} }

// The types of the servers' graph, as they put it into structured content.
type (
	entity struct {
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
	}
	relation struct {
		From         string `json:"from"`
		To           string `json:"to"`
		RelationType string `json:"relationType"`
	}
	observation struct {
		EntityName   string   `json:"entityName"`
		Contents     []string `json:"contents"`
		Observations []string `json:"observations,omitempty"` // to be deleted
	}
	graph struct {
		Entities  []entity   `json:"entities"`
		Relations []relation `json:"relations"`
	}
	// added is what the servers tell of new observations, each in its own way.
	added struct {
		Observations []struct{ Contents []string }          // Go
		Results      []struct{ AddedObservations []string } // npm
	}
)

// A writing keeps what it wrote.
type writing struct {
	*speaker
	wrote graph
}

// round adds a link to the chain; the last one takes back a part of it.
func (w *writing) round(ctx workflow.Context, n int) error {
	if n == rounds-1 {
		return w.prune(ctx)
	}
	return w.link(ctx, n)
}

func (w *writing) link(ctx workflow.Context, n int) error {
	found, err := w.search(ctx)
	if err != nil {
		return err
	}
	last, heard := "nothing", "nothing"
	if len(found) > 0 {
		of := found[len(found)-1]
		last, heard = of.Name, of.Observations[len(of.Observations)-1]
	}
	e := entity{Name: fmt.Sprintf("%s %d after %s", w.name, n, heard), EntityType: "link", Observations: []string{last}}
	var created struct{ Entities []entity }
	if err := w.structured(ctx, "create_entities", map[string]any{"entities": []entity{e}}, &created); err != nil {
		return err
	}
	if err := same([]entity{e}, created.Entities); err != nil {
		return err
	}
	r := relation{From: last, To: e.Name, RelationType: "leads to"}
	var related struct{ Relations []relation }
	if err := w.structured(ctx, "create_relations", map[string]any{"relations": []relation{r}}, &related); err != nil {
		return err
	}
	if err := same([]relation{r}, related.Relations); err != nil {
		return err
	}
	w.wrote.Relations = append(w.wrote.Relations, r)

	var opened graph
	if err := w.structured(ctx, "open_nodes", map[string]any{"names": []string{e.Name}}, &opened); err != nil {
		return err
	}
	if err := same([]entity{e}, opened.Entities); err != nil {
		return err
	}
	note := fmt.Sprintf("%d of %d", len(opened.Entities[0].Observations), len(found))
	var noted added
	o := observation{EntityName: e.Name, Contents: []string{note}}
	if err := w.structured(ctx, "add_observations", map[string]any{"observations": []observation{o}}, &noted); err != nil {
		return err
	}
	e.Observations = append(e.Observations, note)
	w.wrote.Entities = append(w.wrote.Entities, e)
	var told []string
	for _, one := range noted.Observations {
		told = append(told, one.Contents...)
	}
	for _, one := range noted.Results {
		told = append(told, one.AddedObservations...)
	}
	return same([]string{note}, told)
}

// search finds the entities that this writing has made, and no others.
func (w *writing) search(ctx workflow.Context) ([]entity, error) {
	var found graph
	if err := w.structured(ctx, "search_nodes", map[string]any{"query": w.name + " "}, &found); err != nil {
		return nil, err
	}
	if len(found.Entities) == 0 {
		found.Entities = nil
	}
	return found.Entities, same(w.wrote.Entities, found.Entities)
}

// prune takes back the second link's first observation, the third relation and
// the first link, with which its own relations go, and reads what is left.
func (w *writing) prune(ctx workflow.Context) error {
	root, second := w.wrote.Entities[0], &w.wrote.Entities[1]
	gone := observation{EntityName: second.Name, Contents: []string{}, Observations: second.Observations[:1]}
	if _, err := w.call(ctx, "delete_observations", map[string]any{"deletions": []observation{gone}}); err != nil {
		return err
	}
	second.Observations = second.Observations[1:]
	if _, err := w.call(ctx, "delete_relations", map[string]any{"relations": w.wrote.Relations[2:3]}); err != nil {
		return err
	}
	if _, err := w.call(ctx, "delete_entities", map[string]any{"entityNames": []string{root.Name}}); err != nil {
		return err
	}
	w.wrote.Entities, w.wrote.Relations = w.wrote.Entities[1:], w.wrote.Relations[3:]
	if _, err := w.search(ctx); err != nil {
		return err
	}
	read, err := w.read(ctx)
	if err != nil {
		return err
	}
	return same(w.wrote, read.only(w.wrote))
}

func (w *writing) read(ctx workflow.Context) (read graph, err error) {
	return read, w.structured(ctx, "read_graph", nil, &read)
}

// only is the part of a graph that has the names of another one.
func (g graph) only(of graph) (part graph) {
	names := make(map[string]bool)
	for _, e := range of.Entities {
		names[e.Name] = true
	}
	for _, e := range g.Entities {
		if names[e.Name] {
			part.Entities = append(part.Entities, e)
		}
	}
	for _, r := range g.Relations {
		if names[r.From] || names[r.To] {
			part.Relations = append(part.Relations, r)
		}
	}
	return part
}

func (w *writing) remembers(ctx workflow.Context) (string, error) {
	read, err := w.read(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(read)
	return string(text), err
}
