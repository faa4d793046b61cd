import { bind } from '../../core/bind.ts'
import { choose, readUnsubscribe, showChoices, unsubscribe } from './choices.ts'
import { collect } from './collect.ts'
import type { NoticeDeps } from './deps.ts'
import { announcePrices, countAudience, listMailings, loadMailing, sendMessage, stopMailing, walk } from './mailings.ts'

import { forgetLetters, sendDue } from './send.ts'
import { listTemplates, previewTemplate, resetTemplate, setTemplate } from './templates.ts'

export type Notices = ReturnType<typeof createNotices>

export const createNotices = (deps: NoticeDeps) =>
  bind(deps, {
    announcePrices,
    countAudience,
    sendMessage,
    loadMailing,
    listMailings,
    stopMailing,
    walk,
    choose,
    showChoices,
    readUnsubscribe,
    unsubscribe,
    collect,
    sendDue,
    forgetLetters,
    listTemplates,
    setTemplate,
    resetTemplate,
    previewTemplate,
  })
