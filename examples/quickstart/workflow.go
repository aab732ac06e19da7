package quickstart

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflows and the worker agree on.
const (
	TaskQueue = "quickstart"
	Server    = "scratchdb" // the MCP server
)

// TopRegion answers which region sold most, and what sold best there.
//
// The block opens a session on some worker and gives it to this run alone. All
// calls of the block reach that one session, wherever the workflow itself runs
// meanwhile. The session ends with the block.
func TopRegion(ctx workflow.Context, sales []Sale) (Answer, error) {
	var answer Answer
	err := toolset.With(ctx, toolset.Options{Server: Server},
		func(ctx workflow.Context, db *toolset.Toolset) error {
			err := load(ctx, db, sales)
			if err != nil {
				return err
			}
			answer, err = ask(ctx, db)
			return err
		})
	return answer, err
}

// load makes a table and fills it, by one call of a tool a row.
func load(ctx workflow.Context, db *toolset.Toolset, sales []Sale) error {
	if err := execute(ctx, db, "CREATE TABLE sales (region TEXT, product TEXT, amount INTEGER)"); err != nil {
		return err
	}
	for _, sale := range sales {
		if err := execute(ctx, db, "INSERT INTO sales VALUES (?, ?, ?)", sale.Region, sale.Product, sale.Amount); err != nil {
			return err
		}
	}
	return nil
}

// ask asks two questions, the second about the answer to the first.
func ask(ctx workflow.Context, db *toolset.Toolset) (Answer, error) {
	top, err := queryRow[Answer](ctx, db,
		"SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY total DESC LIMIT 1")
	if err != nil {
		return Answer{}, err
	}
	best, err := queryRow[Answer](ctx, db,
		"SELECT product FROM sales WHERE region = ? GROUP BY product ORDER BY sum(amount) DESC LIMIT 1", top.Region)
	if err != nil {
		return Answer{}, err
	}
	top.Product = best.Product
	return top, nil
}
