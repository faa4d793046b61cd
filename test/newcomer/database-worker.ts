/** Runs PostgreSQL in the current network namespace until stdin closes; prints its URL. */
import { startPostgres } from '../harness/postgres.ts'

const server = await startPostgres({ own: true })
console.log(server.url)
for await (const _ of process.stdin);
await server.stop()
process.exit(0)
