import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type Body, CallLost, type createClient, isRecord, type Shape } from '../client/call.ts'
import { useOwner } from '../client/session.ts'
import { type Attempt, attemptsKey, beginAttempt, hold, release, runAttempt } from './attempts.ts'

type Client<Operations extends Record<keyof Operations, Shape>> = ReturnType<typeof createClient<Operations>>
type Name<Operations> = keyof Operations & string

/** Runs `work` once at a time: a second press may come before the page is rendered again, so no state can tell. */
export function useOnce<Given extends readonly unknown[]>(work: (...given: Given) => Promise<unknown>) {
  const isRunning = useRef(false)
  return (...given: Given): void => {
    if (isRunning.current) return
    isRunning.current = true
    const end = () => {
      isRunning.current = false
    }
    void work(...given).then(end, end)
  }
}

const otherTabs = new BroadcastChannel('turnpike')

/** Reads every query again, here and in the other tabs of this browser. */
export async function refresh(queries: QueryClient): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has no target origin
  otherTabs.postMessage('changed')
  await queries.invalidateQueries()
}

/** Reads every query again after a change in another tab. */
export function useOtherTabs(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const onChanged = () => void queries.invalidateQueries()
    otherTabs.addEventListener('message', onChanged)
    return () => otherTabs.removeEventListener('message', onChanged)
  }, [queries])
}

const clearings = new Set<() => void>()

/** Removes the refusals of earlier changes from the page, after a change or a payment has succeeded. */
export function clearRefusals(): void {
  for (const clear of clearings) clear()
}

type Refused = { readonly error: Error | null; readonly reset: () => void }

/** Lets `clearRefusals` remove a change's refusal. A purchase of unknown outcome stays until it is repeated. */
function useClearing(change: Refused): void {
  const latest = useRef(change)
  useEffect(() => {
    latest.current = change
  })
  useEffect(() => {
    const clear = () => {
      const { error, reset } = latest.current
      if (error !== null && !(error instanceof CallLost)) reset()
    }
    clearings.add(clear)
    return () => void clearings.delete(clear)
  }, [])
}

/** The items of an answer that is a page of a list: the answer's only array. */
type ItemsOf<Answer> = {
  [Part in keyof Answer]: Answer[Part] extends readonly (infer Item)[] ? Item : never
}[keyof Answer]
const isItems = <Answer>(value: unknown): value is ItemsOf<Answer>[] => Array.isArray(value)
const itemsOf = <Answer>(page: Answer): ItemsOf<Answer>[] => Object.values(page as object).find(isItems<Answer>) ?? []
const cursorOf = (page: unknown): string | undefined =>
  isRecord(page) && typeof page['next_cursor'] === 'string' ? page['next_cursor'] : undefined

/** The shop's limit of a page. */
const maxPageItems = 500
/** A file of a table has at most 100,000 rows. */
const maxFilePages = 200

/** A client's calls as hooks. A change invalidates every query. */
export function createHooks<Operations extends Record<keyof Operations, Shape>>(client: Client<Operations>) {
  type Given<Of extends Name<Operations>> = Parameters<typeof client.call<Of>>[1]

  /** An operation's answer. The last answer stays while the next one loads. */
  function useRead<Of extends Name<Operations>>(
    name: Of,
    given: Given<Of> = {},
    settings: { readonly isWanted?: boolean; readonly everyMs?: number } = {},
  ) {
    return useQuery<Operations[Of]['answer']>({
      queryKey: [name, given],
      queryFn: () => client.call(name, given),
      enabled: settings.isWanted ?? true,
      placeholderData: keepPreviousData,
      ...(settings.everyMs !== undefined && { refetchInterval: settings.everyMs }),
    })
  }

  const callPage = <Of extends Name<Operations>>(name: Of, given: Given<Of>, cursor: string | undefined) =>
    client.call(name, { ...given, query: { ...given?.query, ...(cursor !== undefined && { cursor }) } } as Given<Of>)

  function usePages<Of extends Name<Operations>>(name: Of, given: Given<Of> = {}) {
    const found = useInfiniteQuery({
      queryKey: [name, 'pages', given],
      queryFn: ({ pageParam }) => callPage(name, given, pageParam),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: cursorOf,
      placeholderData: keepPreviousData,
      select: ({ pages }) => pages.flatMap((page) => itemsOf<Operations[Of]['answer']>(page)),
    })
    const whole = { ...given, query: { ...given?.query, limit: maxPageItems } } as Given<Of>
    return { ...found, loadAll: () => loadPages(name, whole, maxFilePages) }
  }

  /** A list as a whole, up to `maxPages`, or up to the first page whose last item is not `isWanted`. */
  async function loadPages<Of extends Name<Operations>>(
    name: Of,
    given: Given<Of>,
    maxPages: number,
    isWanted: (item: ItemsOf<Operations[Of]['answer']>) => boolean = () => true,
  ) {
    const found: ItemsOf<Operations[Of]['answer']>[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await callPage(name, given, cursor)
      const items = itemsOf<Operations[Of]['answer']>(page)
      found.push(...items.filter(isWanted))
      const last = items.at(-1)
      cursor = cursorOf(page)
      if (cursor === undefined || last === undefined || !isWanted(last)) break
    }
    return found
  }

  function useChange<Of extends Name<Operations>>(name: Of, onDone?: (answer: Operations[Of]['answer']) => void) {
    const queries = useQueryClient()
    const change = useMutation({
      mutationFn: (given: Given<Of>) => client.call(name, given),
      onSuccess: async (answer) => {
        clearRefusals()
        await refresh(queries)
        onDone?.(answer)
      },
    })
    useClearing(change)
    return change
  }

  /**
   * A purchase. A request keeps its idempotency key until its outcome is known, so that a repeat buys once. Unless
   * `isKept` is false, the browser stores both, for a page that loads after an interruption (`attempts.ts`).
   */
  function usePurchase<Of extends Name<Operations>>(name: Of, { isKept = true } = {}) {
    const queries = useQueryClient()
    const owner = useOwner()
    const current = useRef<Attempt>(undefined)
    /** Sends it without refreshing the page, for a series. */
    const send = async (body: Body<Operations[Of]>): Promise<Operations[Of]['answer']> => {
      const attempt = await beginAttempt({ owner, operation: name, body, isKept }, current.current)
      if (current.current?.key !== attempt.key) release(current.current)
      current.current = hold(attempt)
      try {
        const bought = await runAttempt(attempt, () => client.call(name, { body, key: attempt.key }))
        clearRefusals()
        return bought
      } finally {
        if (attempt.isSettled) {
          release(attempt)
          current.current = undefined
        }
      }
    }
    const purchase = useMutation({ mutationFn: send, onSettled: () => refresh(queries) })
    useClearing(purchase)
    useEffect(
      () => () => {
        release(current.current)
        void queries.invalidateQueries({ queryKey: attemptsKey })
      },
      [queries],
    )
    const buy = useOnce(async (body: Body<Operations[Of]>, onBought?: (bought: Operations[Of]['answer']) => void) => {
      const bought = await purchase.mutateAsync(body)
      onBought?.(bought)
    })
    return { ...purchase, buy, send }
  }

  return { useRead, usePages, loadPages, useChange, usePurchase }
}
