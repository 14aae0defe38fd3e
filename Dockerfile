# The program for musl and the roots of TLS. No image is published yet; `docs/release.md` says how to build one.
FROM alpine:3 AS roots

FROM scratch
ARG TARGETARCH
COPY --from=roots /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --chmod=755 target/image/${TARGETARCH}/tcompact /
COPY LICENSE-MIT LICENSE-APACHE /
# Sets no HOME, so that nothing is written but what is asked for.
USER 65532:65532
ENTRYPOINT ["/tcompact"]
