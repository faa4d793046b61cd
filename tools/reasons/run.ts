/** `npm run reasons`: writes docs/api/reasons.md. */
import { reasonsFile, toReasonsPage } from './page.ts'

await Bun.write(reasonsFile, toReasonsPage())
