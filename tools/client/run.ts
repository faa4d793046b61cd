/** `npm run client`: writes the console's client from the descriptions of the APIs. */
import { makeClients } from './make.ts'

for (const { file, text } of await makeClients()) await Bun.write(file, text)
process.exit(0)
