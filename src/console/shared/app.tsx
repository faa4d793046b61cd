import { MantineProvider, Skeleton } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense } from 'react'
import { CallRefused } from '../client/call.ts'
import { useSession } from '../client/session.ts'
import { LanguageProvider, useWords } from './language.tsx'
import { Empty } from './parts.tsx'
import { SignIn } from './sign-in.tsx'
import { theme, variables } from './theme.ts'
import { sharedWords } from './words.ts'

/** Each part comes when its reader has signed in: nobody loads the other's. */
const Customer = lazy(() => import('../customer/index.tsx'))
const Operator = lazy(() => import('../operator/index.tsx'))

const mostRepeats = 2
const freshForMs = 5_000

/** A refusal is an answer and stands; what was lost on its way is asked for again. */
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: freshForMs,
      retry: (failures, error) => !(error instanceof CallRefused) && failures < mostRepeats,
    },
  },
})

function Failed() {
  const words = useWords(sharedWords)
  return (
    <main className="alone">
      <Empty icon="close" title={words.failed} about={words.failedAbout}>
        <a href="/" className="plain-button">
          {words.reload}
        </a>
      </Empty>
    </main>
  )
}

/** A fault of ours shows a way on in place of nothing. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }
  static getDerivedStateFromError = () => ({ hasFailed: true })
  override render() {
    return this.state.hasFailed ? <Failed /> : this.props.children
  }
}

function Part() {
  const session = useSession()
  if (session === undefined) return <SignIn onEntered={() => queries.clear()} />
  return (
    <Suspense fallback={<Skeleton height="100vh" radius={0} animate={false} />}>
      {session.part === 'operator' ? <Operator /> : <Customer />}
    </Suspense>
  )
}

export const App = ({ nonce }: { readonly nonce: string }) => (
  <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
    <LanguageProvider>
      <QueryClientProvider client={queries}>
        <Boundary>
          <Part />
        </Boundary>
      </QueryClientProvider>
    </LanguageProvider>
  </MantineProvider>
)
