/** `npm run reasons`: writes docs/api/reasons.md and docs/ru/reasons.md. */
import { reasonsFile, toReasonsPage } from './page.ts'

for (const language of ['en', 'ru'] as const) await Bun.write(reasonsFile(language), toReasonsPage(language))
