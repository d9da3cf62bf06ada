# The command `rankveil` with every extra but Spark.
#
# docs/install.md says how it is used.
FROM python:3.11-slim AS build
WORKDIR /source
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples ./examples
# The lock's versions, of what these extras need. It also holds what tests need, so it constrains and is not installed.
RUN python -m venv /opt/rankveil \
    && sed -n 's/^\([a-z0-9._-]*==[^ ]*\).*/\1/p' requirements.lock > versions.txt \
    && /opt/rankveil/bin/pip install --no-cache-dir --constraint versions.txt \
        ".[duckdb,evaluate,excel,postgres,report,sign,spss,web]"

FROM python:3.11-slim
COPY --from=build /opt/rankveil /opt/rankveil
# The ledger must outlive the container: mount a folder at /ledger, always the same one.
ENV PATH=/opt/rankveil/bin:$PATH \
    PYTHONUTF8=1 \
    RANKVEIL_LEDGER=/ledger/ledger.sqlite
RUN useradd --create-home --uid 1000 rankveil && mkdir /ledger /work && chown rankveil /ledger /work
USER 1000
WORKDIR /work
VOLUME ["/ledger"]
ENTRYPOINT ["rankveil"]
CMD ["--help"]
