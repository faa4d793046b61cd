import { bind } from '../../core/bind.ts'
import type { NoticeDeps } from './deps.ts'
import { announcePrices, countAudience, listMailings, stopMailing, walk } from './mailings.ts'

export type Notices = ReturnType<typeof createNotices>

export const createNotices = (deps: NoticeDeps) =>
  bind(deps, { announcePrices, countAudience, listMailings, stopMailing, walk })
