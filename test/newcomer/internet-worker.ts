/** A web server in its own network namespace that answers the client’s address. */
Bun.serve({
  hostname: '0.0.0.0',
  port: 80,
  fetch: (request, server) => new Response(`you are ${server.requestIP(request)?.address}\n`),
})
console.log('open')
