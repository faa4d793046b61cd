import { choice, flag, list, rows, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'Catalogue' })

/** How long a program or a cache on its way may keep the changelog. */
export const changelogSeconds = 300

export const getChangelog = operation('getChangelog', 'GET /changelog', {
  summary: 'Read what changed in the API, and its versions',
  description:
    'Needs no token. A version is the date of a release that changed or removed something; other releases only add. ' +
    'A program that meets an unknown date here can read what to check before it moves to the newest version.',
  access: 'public',
  answer: z.object({
    latest_version: text('Newest version, which new tokens get.', '2026-11-19'),
    releases: rows('Releases, newest first.', {
      date: text('Date of the release.', '2026-11-19'),
      is_version: flag('Whether a token can have this date as its version.', true),
      changes: rows('What changed.', {
        kind: choice('What kind of change.', ['added', 'changed', 'removed', 'fixed']),
        text: text('The change, in English.', 'A log of your own requests of the last 7 days.'),
        text_ru: text('The change, in Russian.', 'Журнал ваших запросов за последние 7 дней.'),
        operations: list('Operations that it concerns; empty for all.', text('Operation.', 'listRequests')),
      }),
    }),
  }),
})
