/**
 * `npm run clients`: writes the generated files of packages/client and packages/python, which git ignores.
 * `npm run clients -- --pack FOLDER` packs both there.
 */
import { resolve } from 'node:path'
import { writeClientFiles } from './files.ts'
import { packClients } from './pack.ts'

const [option, folder] = process.argv.slice(2)
if (option === undefined) await writeClientFiles()
else if (option === '--pack' && folder !== undefined) console.log(await packClients(resolve(folder)))
else {
  console.error('npm run clients [-- --pack FOLDER]')
  process.exitCode = 2
}
