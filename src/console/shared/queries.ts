import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { createClient, Shape } from '../client/call.ts'
import { useOnce } from './once.ts'

type Client<Operations extends Record<keyof Operations, Shape>> = ReturnType<typeof createClient<Operations>>
type Name<Operations> = keyof Operations & string

const newKey = (): string => `console-${crypto.randomUUID()}`

/** A client's calls as hooks. Whatever changes something makes what was read before be read again. */
export function createHooks<Operations extends Record<keyof Operations, Shape>>(client: Client<Operations>) {
  type Given<Of extends Name<Operations>> = Parameters<typeof client.call<Of>>[1]

  /** What an operation answers with. The last answer stays while the next one is on its way. */
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

  /** A list, page by page. */
  function usePages<Of extends Name<Operations>>(name: Of, given: Given<Of> = {}) {
    return useInfiniteQuery({
      queryKey: [name, 'pages', given],
      queryFn: ({ pageParam }) =>
        client.call(name, {
          ...given,
          query: { ...given?.query, ...(pageParam !== undefined && { cursor: pageParam }) },
        }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (page) => (page as { readonly next_cursor: string | null }).next_cursor ?? undefined,
    })
  }

  function useChange<Of extends Name<Operations>>(name: Of) {
    const queries = useQueryClient()
    return useMutation({
      mutationFn: (given: Given<Of>) => client.call(name, given),
      onSuccess: () => queries.invalidateQueries(),
    })
  }

  /**
   * A purchase. However often the button is pressed, and however often the answer is lost, what is asked for in the
   * same words is bought once: its key is kept until the shop has answered.
   */
  function usePurchase<Of extends Name<Operations>>(name: Of) {
    const queries = useQueryClient()
    const asked = useRef({ body: '', key: '' })
    const purchase = useMutation({
      mutationFn: async (body: Operations[Of]['body']) => {
        const written = JSON.stringify(body)
        if (asked.current.body !== written) asked.current = { body: written, key: newKey() }
        const bought = await client.call(name, { body, key: asked.current.key })
        asked.current.body = ''
        return bought
      },
      onSettled: () => queries.invalidateQueries(),
    })
    const buy = useOnce(async (body: Operations[Of]['body'], onBought?: (bought: Operations[Of]['answer']) => void) => {
      const bought = await purchase.mutateAsync(body)
      onBought?.(bought)
    })
    return { ...purchase, buy }
  }

  return { useRead, usePages, useChange, usePurchase }
}
