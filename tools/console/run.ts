/** Builds the console into `dist/`; `npm install` does it. It says nothing unless it fails. */
import { buildConsole } from './build.ts'

await buildConsole()
