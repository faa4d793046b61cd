/** `npm run client`: writes the console's client anew, from what the APIs say of themselves. */
import { makeClients } from './make.ts'

for (const { file, text } of await makeClients()) await Bun.write(file, text)
process.exit(0)
