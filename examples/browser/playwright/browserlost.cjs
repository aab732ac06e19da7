// Playwright MCP runs this for every page that it opens (--init-page).
//
// When its browser dies, Playwright MCP starts another at the next call, which
// answers as if nothing had happened, with an empty page and no cookies. Nobody
// who calls can tell. So the server ends with its browser: then the session is
// lost, and the workflow is told.

const watched = new WeakSet();

module.exports.default = async ({ page }) => {
  const context = page.context();
  if (watched.has(context))
    return;
  watched.add(context);

  let asked = false; // by the end of the session, or by the tool browser_close
  const close = context.close.bind(context);
  context.close = options => {
    asked = true;
    return close(options);
  };
  context.on('close', () => {
    if (asked)
      return;
    console.error('the browser is gone');
    process.exit(1);
  });
};
