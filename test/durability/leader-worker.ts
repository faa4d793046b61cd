import { createLeaders } from '../../src/db/leader.ts'

// Leads a job on the database of the first argument until the process is killed.
const leaders = createLeaders(process.argv[2])
console.log(await leaders.leads('renew proxies'))
await Promise.withResolvers().promise
