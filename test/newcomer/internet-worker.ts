/** The rest of the world, in a network of its own: a page that tells from which address it was asked for. */
Bun.serve({
  hostname: '0.0.0.0',
  port: 80,
  fetch: (request, server) => new Response(`you are ${server.requestIP(request)?.address}\n`),
})
console.log('open')
