import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { type Body, type createClient, isRecord, type Shape } from '../client/call.ts'

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

/** The items of an answer that is a page of a list: the answer's only array. */
type ItemsOf<Answer> = {
  [Part in keyof Answer]: Answer[Part] extends readonly (infer Item)[] ? Item : never
}[keyof Answer]
const isItems = <Answer>(value: unknown): value is ItemsOf<Answer>[] => Array.isArray(value)
const itemsOf = <Answer>(page: Answer): ItemsOf<Answer>[] => Object.values(page as object).find(isItems<Answer>) ?? []
const cursorOf = (page: unknown): string | undefined =>
  isRecord(page) && typeof page['next_cursor'] === 'string' ? page['next_cursor'] : undefined

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
    return useInfiniteQuery({
      queryKey: [name, 'pages', given],
      queryFn: ({ pageParam }) => callPage(name, given, pageParam),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: cursorOf,
      select: ({ pages }) => pages.flatMap((page) => itemsOf<Operations[Of]['answer']>(page)),
    })
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
    return useMutation({
      mutationFn: (given: Given<Of>) => client.call(name, given),
      onSuccess: async (answer) => {
        await queries.invalidateQueries()
        onDone?.(answer)
      },
    })
  }

  /** A purchase. Its body keeps one idempotency key until the shop has answered, so that a retry buys once. */
  function usePurchase<Of extends Name<Operations>>(name: Of) {
    const queries = useQueryClient()
    const attempt = useRef({ body: '', key: '' })
    const purchase = useMutation({
      mutationFn: async (body: Body<Operations[Of]>) => {
        const written = JSON.stringify(body)
        if (attempt.current.body !== written) attempt.current = { body: written, key: `console-${crypto.randomUUID()}` }
        const bought = await client.call(name, { body, key: attempt.current.key })
        attempt.current.body = ''
        return bought
      },
      onSettled: () => queries.invalidateQueries(),
    })
    const buy = useOnce(async (body: Body<Operations[Of]>, onBought?: (bought: Operations[Of]['answer']) => void) => {
      const bought = await purchase.mutateAsync(body)
      onBought?.(bought)
    })
    return { ...purchase, buy }
  }

  return { useRead, usePages, loadPages, useChange, usePurchase }
}
