import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from './language.tsx'
import { Reading } from './parts.tsx'
import { sharedWords } from './words.ts'

type Pages<Item> = {
  readonly data: { readonly pages: readonly { readonly items: readonly Item[] }[] } | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

/** A list as far as it was read, and a button for what follows. */
export function Paged<Item>({
  of,
  children,
}: {
  readonly of: Pages<Item>
  readonly children: (items: readonly Item[]) => ReactNode
}) {
  const words = useWords(sharedWords)
  return (
    <Reading of={of} height={240}>
      {({ pages }) => (
        <div className="stack">
          {children(pages.flatMap((page) => page.items))}
          {of.hasNextPage && (
            <div>
              <Button variant="default" loading={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
                {words.more}
              </Button>
            </div>
          )}
        </div>
      )}
    </Reading>
  )
}
