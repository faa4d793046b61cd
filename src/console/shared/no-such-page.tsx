import { useWords } from './language.tsx'
import { Empty, Page } from './parts.tsx'
import { sharedWords } from './words.ts'

export function NoSuchPage() {
  const words = useWords(sharedWords)
  return (
    <Page title={words.notFound}>
      <Empty icon="search" title={words.notFound} about={words.notFoundAbout}>
        <a href="#/">{words.toStart}</a>
      </Empty>
    </Page>
  )
}
