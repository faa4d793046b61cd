import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Activity } from '../client/operator.ts'
import { useFields } from '../shared/browser.ts'
import { Select } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Page, PagedRows, Panel } from '../shared/parts.tsx'
import { activityMessages, kinds, useActivityTable } from './activity-table.tsx'
import { api, type OperatorAnswer, usePages } from './api.ts'

type Kind = Activity['kind']

const waitSeconds = 50
const retryMs = 5_000

/** The first item, as soon as it is another one than `seen`, or after the wait. */
async function readNews(kind: Kind | '', seen: string): Promise<OperatorAnswer<'listActivity'>['items']> {
  const query = { limit: 1, wait: waitSeconds, seen, ...(kind !== '' && { kind }) }
  return (await api.call('listActivity', { query })).items
}

/** Waits for news at the shop, and reads the list again when there are some. */
function useNews(kind: Kind | '', seen: string | undefined): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (seen === undefined) return undefined
    const ended = new AbortController()
    const follow = async () => {
      while (!ended.signal.aborted) {
        try {
          const items = await readNews(kind, seen)
          if ((items[0]?.id ?? '') === seen) continue
          await queries.invalidateQueries({ queryKey: ['listActivity'] })
        } catch {
          // The next attempt comes later, as after news that the list does not have yet.
        }
        if (!ended.signal.aborted) await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
    void follow()
    return () => ended.abort()
  }, [queries, kind, seen])
}

export function ActivityPage() {
  const { t } = useMessages(activityMessages)
  const [fields, set] = useFields()
  const kind = kinds.find((each) => each === fields.get('kind')) ?? ''
  const items = usePages('listActivity', { query: { limit: 50, ...(kind !== '' && { kind }) } })
  useNews(kind, items.data && (items.data[0]?.id ?? ''))
  return (
    <Page title={t.activity} about={t.about}>
      <Panel className="stack">
        <Select
          label={t.kind}
          value={kind}
          maw="16rem"
          options={[['', t.all], ...kinds.map((each) => [each, t.kinds[each]] as const)]}
          onChange={(next) => set({ kind: next })}
        />
        <PagedRows of={items} {...useActivityTable(kind !== '')} />
      </Panel>
    </Page>
  )
}
