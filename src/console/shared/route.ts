import { useSyncExternalStore } from 'react'

/** Where in the console somebody is. It stands behind the `#`, so a page has an address and the server needs none. */
export type Route = { readonly path: string; readonly query: URLSearchParams }

function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?')
  return { path: path.startsWith('/') ? path : '/', query: new URLSearchParams(query) }
}

const listen = (onChange: () => void): (() => void) => {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

export const useRoute = (): Route => readRoute(useSyncExternalStore(listen, () => location.hash))

/** Goes to a page, and is done when it is there: what is read anew then is that page's. */
export const go = (path: string): Promise<void> =>
  new Promise((resolve) => {
    if (location.hash === `#${path}`) return resolve()
    addEventListener('hashchange', () => resolve(), { once: true })
    location.hash = path
  })
