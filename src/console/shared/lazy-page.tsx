import { Skeleton } from '@mantine/core'
import { type ComponentType, lazy, Suspense } from 'react'

/**
 * A page that is loaded when it is opened, because most visits do not open it. Each has a boundary of its own: React
 * keeps the page before it in the document, hidden, if both are in one boundary.
 */
export function lazyPage<Given extends object>(load: () => Promise<ComponentType<Given>>): ComponentType<Given> {
  const Loaded = lazy(async () => ({ default: await load() }))
  return (given) => (
    <Suspense fallback={<Skeleton height={320} radius="md" />}>
      <Loaded {...given} />
    </Suspense>
  )
}
