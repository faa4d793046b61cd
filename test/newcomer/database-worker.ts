/** PostgreSQL in the network that this is started in, until its input ends. Says where it is. */
import { startPostgres } from '../harness/postgres.ts'

const server = await startPostgres({ own: true })
console.log(server.url)
for await (const _ of process.stdin);
await server.stop()
process.exit(0)
